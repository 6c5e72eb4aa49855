/**
 * Servers over TLS on this machine. The key is public, and of use for nothing but tests: its
 * certificate vouches for itself and is good for `localhost`, `here.test` and `there.test` until 2120.
 */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJEkj21xNY9WTWwWH
yb+8RWtDpDjXn+rkRNY2GTVW/ZGhRANCAATNFl7MrabPUvqdTTnEzGm3Rzd+t69K
D5l+f0Dj5ehhUjtX/8H6v+hM1rgyrU10tVLDciC0QXPPU/LrrVUvp/SD
-----END PRIVATE KEY-----
`;

export const certificate = `-----BEGIN CERTIFICATE-----
MIIBfjCCASSgAwIBAgIBATAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxhbnlyZXYg
dGVzdHMwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBcxFTATBgNV
BAMMDGFueXJldiB0ZXN0czBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM0WXsyt
ps9S+p1NOcTMabdHN363r0oPmX5/QOPl6GFSO1f/wfq/6EzWuDKtTXS1UsNyILRB
c89T8uutVS+n9IOjXzBdMA8GA1UdEwEB/wQFMAMBAf8wKwYDVR0RBCQwIoIJbG9j
YWxob3N0ggloZXJlLnRlc3SCCnRoZXJlLnRlc3QwHQYDVR0OBBYEFGlrc4vMncav
8RTONZTgKQrEJCnfMAoGCCqGSM49BAMCA0gAMEUCIQCDwvBUhBnAk5aA/9K79z/B
Rc6Wbs1wwn7/BldV8G+vGAIgBzkHjZy07yXtngzQlYjYF9dchV17eoDzwBx+FOME
gv8=
-----END CERTIFICATE-----
`;

export interface TlsServer extends AsyncDisposable {
  readonly port: number;
  /** What was asked, in order: the host and the path. */
  readonly asked: readonly string[];
}

export async function openTls(listener: RequestListener): Promise<TlsServer> {
  const asked: string[] = [];
  const server = createServer({ key, cert: certificate }, (request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    listener(request, response);
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
