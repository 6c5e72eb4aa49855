/** An issuer of JWTs in this process: its keys, and tokens as good or as bad as a test needs. */
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

export const issuer = "https://issuer.example.com";
export const resource = "http://localhost/mcp";

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

export interface TokenParts {
  readonly header?: Record<string, unknown>;
  /** In place of the good ones; undefined leaves one out. */
  readonly claims?: Record<string, unknown>;
  readonly key?: KeyPair["privateKey"] | Uint8Array;
}

export interface Issuer {
  readonly keySet: { readonly keys: Record<string, unknown>[] };
  readonly pairs: readonly KeyPair[];
  /** Good, but for what a test spoils. */
  token(parts?: TokenParts): Promise<string>;
  /** A key more, as at a rotation. @returns the name of the key */
  rotate(): Promise<string>;
}

export const seconds = (): number => Math.floor(Date.now() / 1_000);

export async function openIssuer(): Promise<Issuer> {
  const pairs: KeyPair[] = [];
  const keySet: { keys: Record<string, unknown>[] } = { keys: [] };
  const rotate = async (): Promise<string> => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    const kid = `key-${pairs.length}`;
    pairs.push(pair);
    keySet.keys.push({ ...(await exportJWK(pair.publicKey)), kid, alg: "ES256", use: "sig" });
    return kid;
  };
  await rotate();
  await rotate();
  return {
    keySet,
    pairs,
    rotate,
    token: ({ header = {}, claims = {}, key } = {}) => {
      const payload: Record<string, unknown> = {
        iss: issuer,
        aud: resource,
        sub: "ada",
        client_id: "editor",
        scope: "read write",
        iat: seconds(),
        exp: seconds() + 300,
        ...claims,
      };
      const whole: JWTPayload = JSON.parse(JSON.stringify(payload));
      const kid = `key-${pairs.length - 1}`;
      const signing = new SignJWT(whole).setProtectedHeader(
        JSON.parse(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid, ...header })),
      );
      const signer = key ?? pairs.at(-1)?.privateKey;
      if (signer === undefined) throw new Error("there is no key");
      return signing.sign(signer, { crit: { "x-odd": false } });
    },
  };
}

export function encodePart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
