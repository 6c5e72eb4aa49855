/** The program of `examples/workers`, and what is beside it for a machine that has Docker. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { overSocket } from "../support/live.ts";
import { buildFixtures, Program, patience, root } from "../support/program.ts";
import { sharedRedis } from "../support/servers.ts";
import { Talker } from "../support/talk.ts";

beforeAll(buildFixtures, patience);

const folder = join(root, "examples/workers");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

test("two of its workers count on for each other, and end when told to", {
  timeout: patience,
}, async () => {
  const url = await sharedRedis();
  const start = () =>
    new Program(
      "--import",
      `data:text/javascript,process.env.REDIS_URL="${url}";process.env.PORT="0"`,
      "build/examples/workers/main.js",
    );
  await using one = start();
  await using other = start();
  const workers = await Promise.all(
    [one, other].map(async (program) => {
      const [, port] = await program.printed(/^listening http:\/\/127\.0\.0\.1:(\d+)\/mcp\n$/);
      return overSocket({ port: Number(port), close: () => Promise.resolve() });
    }),
  );
  const talker = await Talker.open(workers[0]!, "2025-11-25");
  const count = async (by: Talker, handle?: string) =>
    JSON.parse(await by.call("count", handle === undefined ? {} : { handle }).text());
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
