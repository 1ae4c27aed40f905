import type { Keyrail } from '@keyrail/sdk'

/** What `/metrics` shows, in the text format of Prometheus. No key, id or tenant is in it. */
export class Figures {
  readonly #verdicts = new Map<string, number>()
  readonly #reloads = { applied: 0, refused: 0 }

  count(code: string): void {
    this.#verdicts.set(code, (this.#verdicts.get(code) ?? 0) + 1)
  }

  reloaded(result: 'applied' | 'refused'): void {
    this.#reloads[result] += 1
  }

  /** @param connections open ones of proxies */
  text({ keys, limiter, usage }: Pick<Keyrail, 'keys' | 'limiter' | 'usage'>, connections: number): string {
    const { serving, confirmedAgeMs, keys: held, evictions, polls } = keys.stats()
    const limits = limiter.stats()
    const counts = usage.stats()
    return [
      ...family('verdicts_total', 'counter', 'Requests by their verdict', 'code', [...this.#verdicts]),
      ...family('serving', 'gauge', 'Whether keys can be verified now', '', [['', serving ? 1 : 0]]),
      ...(confirmedAgeMs === null
        ? []
        : family('feed_lag_seconds', 'gauge', 'Time since the service last confirmed the keys', '', [
            ['', confirmedAgeMs / 1_000],
          ])),
      ...family('keys', 'gauge', 'Keys held', '', [['', held]]),
      ...family('evictions_total', 'counter', 'Keys dropped for lack of memory', '', [['', evictions]]),
      ...family('polls_total', 'counter', 'Polls by outcome', 'outcome', Object.entries(polls)),
      ...family('limit_calls_total', 'counter', 'Calls of the service for limits', '', [['', limits.calls]]),
      ...family(
        'limit_requests_total',
        'counter',
        'Requests with limits by what decided them',
        'source',
        Object.entries(limits.requests),
      ),
      ...family('usage_pending', 'gauge', 'Counted requests that are not reported yet', '', [
        ['', counts.pending],
      ]),
      ...family('usage_dropped_total', 'counter', 'Counted requests that were given up', '', [
        ['', counts.dropped],
      ]),
      ...family('connections', 'gauge', 'Open connections of proxies', '', [['', connections]]),
      ...family('reloads_total', 'counter', 'Reloads by result', 'result', Object.entries(this.#reloads)),
      '',
    ].join('\n')
  }
}

type Series = readonly (readonly [label: string, value: number])[]

const family = (
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  label: string,
  series: Series,
): string[] => [
  `# HELP keyrail_guard_${name} ${help}`,
  `# TYPE keyrail_guard_${name} ${type}`,
  ...series.map(([of, value]) => `keyrail_guard_${name}${label === '' ? '' : `{${label}="${of}"}`} ${value}`),
]
