/** A stream that is lost, or let go of, and taken up again, where the revision can do that. */
import { expect, it } from "vitest";
import { Conversant, within } from "../support/conversant.ts";
import { columns, createConversing } from "../support/conversing.ts";
import type { Revision } from "../support/wire.ts";
import type { WireKind } from "../support/wires.ts";
import { group } from "./group.ts";

const progressMethod = "notifications/progress";
const updated = "notifications/resources/updated";
const overHttp = columns.filter(([, wire]) => wire === "socket" || wire === "fetch");
const channels = columns.filter(([, wire]) => wire !== "socket" && wire !== "fetch");

const resumes = (revision: Revision) => revision > "2024-11-05" && revision < "2026-07-28";

async function open(wire: WireKind, revision: Revision) {
  const { server, effects } = createConversing();
  return { effects, peer: await Conversant.open(wire, revision, server) };
}

/** The id of the last event that has one. */
function lastId(peer: Conversant): string | undefined {
  return peer.wire.events.findLast(({ id }) => id !== undefined)?.id;
}

export const lostStreams = group("a stream", overHttp, (revision, wire) => {
  it("may be taken up again and again, each time after the event that is named", async () => {
    const { peer, effects } = await open(wire, revision);
    await using _ = peer;
    const params = { name: "slow", _meta: { progressToken: 1 } };
    const { reply, sending } = peer.start("tools/call", params);
    await peer.until(() => peer.told(progressMethod).length > 0, "the call runs");
    const id = lastId(peer);
    effects.proceed();
    await within(reply, "it is answered");
    await sending.over;
    if (id === undefined) return expect(resumes(revision)).toBe(false);
    expect(peer.told(progressMethod)).toHaveLength(2);
    peer.forgetRepeated();
    const again = await peer.listen({ "last-event-id": id });
    await within(again.over, "it ends after the reply");
    expect(peer.told(progressMethod)).toMatchObject([
      { progress: 1 },
      { progress: 2 },
      { progress: 2 },
    ]);
  });

  it("begins with where it begins, and how long to wait, in 2025-11-25 alone", async () => {
    const { peer, effects } = await open(wire, revision);
    await using _ = peer;
    effects.proceed();
    await peer.call("slow", {}, { progressToken: 1 });
    const [first] = peer.wire.events;
    const primed = { data: "", retry: "1000", id: expect.any(String) };
    if (revision === "2025-11-25") expect(first).toMatchObject(primed);
    else expect(first?.data).toContain(progressMethod);
  });

  it("is let go of by the server where its reader was told how to come back", async () => {
    const { peer, effects } = await open(wire, revision);
    await using _ = peer;
    const { reply, sending } = peer.start("tools/call", { name: "detach" });
    if (revision !== "2025-11-25") {
      effects.proceed();
      expect((await within(reply, "it is answered")).origin.via).toBe("body");
      return;
    }
    await within(sending.over, "it is let go of");
    expect(peer.wire.events.at(-1)).toMatchObject({ retry: "20", data: "" });
    await peer.listen({ "last-event-id": lastId(peer) ?? "" });
    effects.proceed();
    expect((await within(reply, "it is answered")).origin.via).toBe("get");
  });

  it("of a session tells what changed while nobody was there, if events have ids", async () => {
    const { peer } = await open(wire, revision);
    await using _ = peer;
    if (revision === "2026-07-28") {
      const { response } = await peer.listen({ "last-event-id": "changes.1" });
      expect((await response)?.status).toBe(405);
      return;
    }
    await peer.ask("resources/subscribe", { uri: "note://1" });
    const first = await peer.listen();
    await peer.call("touch");
    await peer.until(() => peer.told(updated).length > 0, "the change is told");
    const id = lastId(peer);
    expect(id !== undefined).toBe(resumes(revision));
    first.disconnect();
    await peer.call("touch");
    await new Promise((resolve) => setTimeout(resolve, 30));
    await peer.listen({ "last-event-id": id ?? "changes.1" });
    await peer.call("touch");
    const count = resumes(revision) ? 3 : 2;
    await peer.until(() => peer.told(updated).length >= count, "the changes are told");
    expect(peer.told(updated)).toHaveLength(count);
  });
});

export const connections = group("a connection", channels, (revision, wire) => {
  it("is not let go of: the call is answered on it", async () => {
    const { peer, effects } = await open(wire, revision);
    await using _ = peer;
    effects.proceed();
    expect(await peer.call("detach")).toBe("done");
  });
});
