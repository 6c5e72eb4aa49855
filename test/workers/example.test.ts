/** The program of `examples/workers`, and what is beside it for a machine that has Docker. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { overSocket } from "../support/live.ts";
import { startNginx } from "../support/nginx-server.ts";
import { buildFixtures, Program, patience, root } from "../support/program.ts";
import { revisions } from "../support/schemas.ts";
import { sharedRedis } from "../support/servers.ts";
import { Talker } from "../support/talk.ts";

beforeAll(buildFixtures, patience);

const folder = join(root, "examples/workers");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

const count = async (by: Talker, handle?: string) =>
  JSON.parse(await by.call("count", handle === undefined ? {} : { handle }).text());

async function startWorkers(howMany: number) {
  const url = await sharedRedis();
  const settings = `process.env.REDIS_URL="${url}";process.env.PORT="0"`;
  const programs = Array.from(
    { length: howMany },
    () =>
      new Program(
        ...["--import", `data:text/javascript,${settings}`, "build/examples/workers/main.js"],
      ),
  );
  const ports = await Promise.all(
    programs.map(async (program) => {
      const [, port] = await program.printed(/^listening http:\/\/127\.0\.0\.1:(\d+)\/mcp\n$/);
      return Number(port);
    }),
  );
  return {
    programs,
    ports,
    [Symbol.asyncDispose]: async () => {
      for (const program of programs) await program[Symbol.asyncDispose]();
    },
  };
}

test("two of its workers count on for each other, and end when told to", {
  timeout: patience,
}, async () => {
  await using group = await startWorkers(2);
  const workers = group.ports.map((port) => overSocket({ port, close: () => Promise.resolve() }));
  const [one, other] = group.programs as [Program, Program];
  const talker = await Talker.open(workers[0]!, "2025-11-25");
  expect(await count(talker)).toEqual({ count: 1, worker: one.child.pid });
  expect(await count(talker.on(workers[1]!))).toEqual({ count: 2, worker: other.child.pid });
  const modern = await Talker.open(workers[0]!, "2026-07-28");
  const { handle } = await count(modern);
  expect(await count(modern.on(workers[1]!), handle)).toMatchObject({ count: 2, handle });
  for (const program of [one, other]) {
    program.child.kill("SIGTERM");
    expect(await program.ended, program.stderr).toEqual({ code: 0, signal: null });
  }
});

test("nginx, as the file beside it says, spreads the calls of a session, also while a worker ends", {
  timeout: patience,
}, async () => {
  await using group = await startWorkers(3);
  await using nginx = await startNginx(read("nginx.conf"), group.ports);
  const service = overSocket({ port: nginx.port, close: () => Promise.resolve() });
  const talkers = await Promise.all(revisions.map((revision) => Talker.open(service, revision)));
  const callAll = async (howOften: number) => {
    const pids = new Set<number>();
    for (const talker of talkers) {
      const isModern = talker.revision === "2026-07-28";
      const { handle } = isModern ? await count(talker) : {};
      const { count: before } = await count(talker, handle);
      for (let at = 1; at <= howOften; at++) {
        const counted = await count(talker, handle);
        expect(counted.count).toBe(before + at);
        pids.add(counted.worker);
      }
    }
    return pids;
  };
  const [first, ...rest] = group.programs.map(({ child }) => child.pid);
  expect(await callAll(6)).toEqual(new Set([first, ...rest]));
  group.programs[0]!.child.kill("SIGTERM");
  await callAll(6);
  expect(await group.programs[0]!.ended).toEqual({ code: 0, signal: null });
  expect(await callAll(6)).toEqual(new Set(rest));
});

test("every name in the files beside it is of something that is there", () => {
  const compose = read("compose.yaml");
  const workers = [...compose.matchAll(/^ {2}(worker-\d): \*worker$/gm)].map(([, name]) => name);
  const balanced = [...read("nginx.conf").matchAll(/server (worker-\d):8080 /g)].map(
    ([, name]) => name,
  );
  expect(workers).toEqual(["worker-1", "worker-2", "worker-3"]);
  expect(balanced).toEqual(workers);
  expect(compose).toContain("dockerfile: examples/workers/Dockerfile");
  const [, main = ""] =
    /CMD \["node", "build\/(examples\/.*)\.js"\]/.exec(read("Dockerfile")) ?? [];
  expect(existsSync(join(root, `${main}.ts`))).toBe(true);
  const used = [...compose.matchAll(/^ {4}([A-Z_]+): /gm)].map(([, name]) => name);
  expect(used).toEqual(["HOST", "PORT", "REDIS_URL", "ALLOWED_HOSTS"]);
  for (const name of used) expect(read("main.ts")).toContain(`env["${name}"]`);
});
