import { useLayoutEffect, useRef } from 'preact/hooks'
import type { At } from './at.ts'

const barWidth = 4
const height = 28

/** Requests of 30 days, a bar for each day. The figures are asked for when the row comes into view. */
export function Bars({ at, id }: { at: At; id: string }) {
  const { words, keyring } = at
  const self = useRef<HTMLDivElement>(null)
  const usage = keyring.usage.of(id)
  // biome-ignore lint/correctness/useExhaustiveDependencies: again for each list, which wants newer figures.
  useLayoutEffect(() => {
    if (self.current === null) return
    const watch = new IntersectionObserver(seen => {
      if (seen.some(one => one.isIntersecting)) keyring.usage.want(id)
    })
    watch.observe(self.current)
    return () => watch.disconnect()
  }, [id, keyring.shown()])
  // Figures that cannot be loaded are left out: the key itself works.
  if (usage == null) return <div ref={self} class="use" part="usage" />
  const { data, total, estimated } = usage
  const most = data.reduce((one, other) => (other.request_count > one.request_count ? other : one), {
    date: '',
    request_count: 0,
  })
  const sum = (estimated ? '≈ ' : '') + words.count('requests', total)
  const path = data
    .map(({ request_count: count }, at) => {
      const tall = count === 0 ? 1 : Math.max(2, (count / most.request_count) * height)
      return `M${at * barWidth} ${height}v${-tall.toFixed(1)}h${barWidth - 1}V${height}z`
    })
    .join('')
  const peak =
    total === 0
      ? ''
      : ` ${words.text('most', { date: words.utcDay(most.date), count: words.number(most.request_count) })}`
  return (
    <div ref={self} class="use" part="usage">
      <svg
        part="bars"
        role="img"
        aria-label={`${sum}.${peak}`}
        viewBox={`0 0 ${data.length * barWidth} ${height}`}
        preserveAspectRatio="none"
      >
        <path d={path} />
      </svg>
      <span aria-hidden="true" class="quiet">
        {sum}
      </span>
    </div>
  )
}
