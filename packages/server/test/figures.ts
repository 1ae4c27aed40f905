/** The figures of the metrics text, by series: `name` or `name{label="value"}`. */
export const figuresOf = (text: string): Map<string, number> =>
  new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]),
  )

/** Reads figures from the metrics of a service. */
export const figuresFrom =
  (metrics: { text(): Promise<string> }) =>
  async (...series: string[]): Promise<(number | undefined)[]> => {
    const all = figuresOf(await metrics.text())
    return series.map(one => all.get(one))
  }
