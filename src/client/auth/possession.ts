/** Tokens that only the holder of a key can use (DPoP, RFC 9449). */
import * as oauth from "oauth4webapi";

/** Nonces that are kept: the latest of each server. */
const maxNonces = 100;

export class Possession {
  /** For what is sent to an authorization server; it keeps that one's nonces itself. */
  readonly forIssuer: oauth.DPoPHandle;
  readonly thumbprint: string;
  readonly #forServer: oauth.DPoPHandle;
  readonly #nonces: Map<string, string>;

  private constructor(pair: oauth.CryptoKeyPair, forIssuer: oauth.DPoPHandle, thumbprint: string) {
    this.forIssuer = forIssuer;
    this.thumbprint = thumbprint;
    const nonces = new Map<string, string>();
    this.#nonces = nonces;
    this.#forServer = oauth.DPoP({}, pair, {
      [oauth.modifyAssertion]: (_header, payload) => {
        const nonce = nonces.get(new URL(String(payload["htu"])).origin);
        if (nonce !== undefined) payload["nonce"] = nonce;
      },
    });
  }

  static async of(pair: oauth.CryptoKeyPair | undefined): Promise<Possession> {
    const key = pair ?? (await oauth.generateKeyPair("ES256"));
    const forIssuer = oauth.DPoP({}, key);
    return new Possession(key, forIssuer, await forIssuer.calculateThumbprint());
  }

  /** The headers of one exchange, and of no other: proof is taken once. */
  async prove(token: string, method: string, url: URL): Promise<Readonly<Record<string, string>>> {
    let headers: Readonly<Record<string, string>> = {};
    await oauth.protectedResourceRequest(token, method, url, undefined, null, {
      DPoP: this.#forServer,
      // The transport sends it, and knows which URLs may be asked.
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: async (_url, init) => {
        headers = init.headers;
        return new Response(null);
      },
    });
    const { authorization = "", dpop = "" } = headers;
    return { authorization, dpop };
  }

  /** @param nonce - what an answer of the server wants to see in the next proof */
  learn({ origin }: URL, nonce: string | undefined): void {
    if (nonce === undefined) return;
    this.#nonces.delete(origin);
    this.#nonces.set(origin, nonce);
    const [oldest] = this.#nonces.keys();
    if (this.#nonces.size > maxNonces && oldest !== undefined) this.#nonces.delete(oldest);
  }
}

/** Sends a request once more where the answer gives the nonce that it lacks. */
export async function withNonce<T>(
  request: () => Promise<Response>,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  try {
    return await read(await request());
  } catch (cause) {
    if (!oauth.isDPoPNonceError(cause)) throw cause;
    return read(await request());
  }
}
