/** Functions of the user's, called where what they throw must not end anything else. */

/**
 * The same as it may be called from within the reading of messages: what it throws is uncaught,
 * as that of any event listener, and every other message is still heard.
 */
export function toListener<T>(callback: ((value: T) => void) | undefined): (value: T) => void {
  return (value) => {
    try {
      callback?.(value);
    } catch (cause) {
      queueMicrotask(() => {
        throw cause;
      });
    }
  };
}
