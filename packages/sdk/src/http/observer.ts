/** What looks on at calls of the service; there is none unless somebody sets one. */
export const observer: {
  /** @param path without a query; of hot calls it holds no id */
  around?: <Answer extends { status: number }>(path: string, call: () => Promise<Answer>) => Promise<Answer>
} = {}
