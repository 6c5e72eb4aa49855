/** How much of everything there may be. */
export const limits = Object.freeze({
  /** Notes in the book: each is listed as a resource. */
  notes: 10_000,
  titleLength: 200,
  bodyLength: 50_000,
  topicLength: 40,
  topicsPerNote: 10,
  queryLength: 200,
  /** Notes that one search gives. */
  results: 50,
  /** Suggestions for an argument. */
  suggestions: 100,
  /** Notes that one review embeds. */
  reviewed: 20,
  /** Characters of notes that one summary is made of. */
  summarised: 20_000,
  /** Characters of the whole book. */
  bookLength: 1_000_000,
});
