/** Our client, with all defaults on. */
import { connect } from "anyrev/client";
import { over, takeOrders, url } from "./common.ts";

const options = { info: { name: "bench", version: "1.0.0" } };

/** The client that runtimes other than Node get, which are given no `node` condition. */
async function connectOverFetch(): ReturnType<typeof connect> {
  const path = new URL("../../../dist/client/index.js", import.meta.url);
  const portable: { connect: typeof connect } = await import(path.href);
  return portable.connect(url, options);
}

const client = await (over === "node" ? connect(url, options) : connectOverFetch());
takeOrders(() => client.call("add", { a: 2, b: 3 }));
