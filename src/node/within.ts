/** A wait with an end. */

/** Waits, but not for ever; and keeps the process alive that long. */
export async function within(waited: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([waited, late]);
  clearTimeout(timer);
}
