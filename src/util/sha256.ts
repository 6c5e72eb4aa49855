/** SHA-256 (FIPS 180-4) at once: the one of the platform makes its caller wait for a promise. */

const rounds: readonly number[] = firstPrimes(64).map((prime) => fraction(Math.cbrt(prime)));
const start: readonly number[] = firstPrimes(8).map((prime) => fraction(Math.sqrt(prime)));

/** @returns the first `bytes` bytes of the digest of a text in UTF-8, as hexadecimal digits */
export function sha256Hex(text: string, bytes = 32): string {
  const words = padded(new TextEncoder().encode(text));
  const state = [...start];
  for (let at = 0; at < words.length; at += 16) compress(state, words, at);
  const digits = state.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  return digits.slice(0, bytes * 2);
}

function compress(state: number[], words: Uint32Array, at: number): void {
  const schedule = new Uint32Array(64);
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
  for (let round = 0; round < 64; round++) {
    const word = round < 16 ? (words[at + round] ?? 0) : extended(schedule, round);
    schedule[round] = word;
    const choice = (e & f) ^ (~e & g);
    const sum1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const first = (h + sum1 + choice + (rounds[round] ?? 0) + word) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((value, index) => {
    state[index] = ((state[index] ?? 0) + value) | 0;
  });
}

type Eight = [number, number, number, number, number, number, number, number];

function extended(schedule: Uint32Array, round: number): number {
  const near = schedule[round - 2] ?? 0;
  const far = schedule[round - 15] ?? 0;
  const sum0 = turn(far, 7) ^ turn(far, 18) ^ (far >>> 3);
  const sum1 = turn(near, 17) ^ turn(near, 19) ^ (near >>> 10);
  return (sum0 + sum1 + (schedule[round - 7] ?? 0) + (schedule[round - 16] ?? 0)) | 0;
}

function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

function padded(bytes: Uint8Array): Uint32Array {
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer);
  view.setUint32(whole.length - 8, Math.floor(bytes.length / 0x2000_0000));
  view.setUint32(whole.length - 4, (bytes.length << 3) >>> 0);
  return Uint32Array.from({ length: whole.length / 4 }, (_, index) => view.getUint32(index * 4));
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
}
