import { VisuallyHidden } from '@mantine/core'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import classes from './bars.module.css'
import { barAfter, barAt, roundTop } from './bars-scale.ts'
import { figure, shortFigure } from './figures.ts'

interface Bar {
  /** Its day or month, in words. */
  readonly name: string
  readonly value: number
}

interface BarsProps {
  /** What the bars count, for those who do not see them: "Requests a day". */
  readonly label: string
  readonly bars: readonly Bar[]
}

const step = 10
const gap = 2
const height = 100
/** The least height of a bar above 0, so that it stays visible beside much larger bars. */
const least = 2

/**
 * Figures over time as bars with a scale. A bar says its value below the pointer; with the keyboard, the chart is one
 * stop, and arrow keys go from bar to bar. A table has the same figures for people who use neither.
 */
export function Bars({ label, bars }: BarsProps) {
  const most = Math.max(0, ...bars.map(({ value }) => value))
  return (
    <figure className={classes.figure} aria-label={label}>
      {most === 0 ? (
        <>
          <p className={classes.none}>Nothing in this time</p>
          <div className={classes.plot} />
        </>
      ) : (
        <Plot label={label} bars={bars} top={roundTop(most)} />
      )}
      <Dates bars={bars} />
      <VisuallyHidden>
        <table>
          <caption>{label}</caption>
          <tbody>
            {bars.map(({ name, value }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{figure(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </figure>
  )
}

interface PlotProps extends BarsProps {
  /** The value at the upper edge. */
  readonly top: number
}

function Plot({ label, bars, top }: PlotProps) {
  const { at, shown, handlers } = useCursor(bars.length)
  const chosen = bars[at]
  const named = bars[shown ?? at]
  const share = `${(((shown ?? at) + 0.5) / bars.length) * 100}%`
  return (
    <>
      <div className={classes.scale} aria-hidden="true">
        <span>{shortFigure(top)}</span>
        <span>{shortFigure(top / 2)}</span>
        <span>0</span>
      </div>
      {/* A slider, because screen readers pass arrow keys to one and read its value after each. */}
      <div
        className={classes.plot}
        role="slider"
        tabIndex={0}
        aria-label={`${label}, bar by bar`}
        aria-valuemin={1}
        aria-valuemax={bars.length}
        aria-valuenow={at + 1}
        aria-valuetext={chosen === undefined ? undefined : `${chosen.name}: ${figure(chosen.value)}`}
        data-shown={shown !== null}
        {...handlers}
      >
        {named === undefined ? null : (
          <div className={classes.named} style={{ left: share, translate: `-${share}` }}>
            <span>{named.name}</span>
            <strong>{figure(named.value)}</strong>
          </div>
        )}
        <Drawing bars={bars} top={top} place={shown ?? at} />
      </div>
    </>
  )
}

interface DrawingProps {
  readonly bars: readonly Bar[]
  readonly top: number
  /** The bar that stands out. */
  readonly place: number
}

function Drawing({ bars, top, place }: DrawingProps) {
  const width = bars.length * step
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max(least, (value / top) * height))
  return (
    <svg
      className={classes.bars}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <rect className={classes.place} x={place * step} y={0} width={step} height={height} />
      {[0, height / 2].map(y => (
        <line key={y} className={classes.line} x1={0} x2={width} y1={y} y2={y} />
      ))}
      {bars.map(({ name, value }, at) => (
        <rect
          key={name}
          className={classes.bar}
          x={at * step + gap / 2}
          y={height - heightOf(value)}
          width={step - gap}
          height={heightOf(value)}
        />
      ))}
    </svg>
  )
}

/** The first, the last and, where it fits, the middle of the time. */
function Dates({ bars }: Pick<BarsProps, 'bars'>) {
  const middle = bars.length > 2 ? bars[Math.floor(bars.length / 2)] : undefined
  return (
    <div className={classes.dates} aria-hidden="true">
      <span>{bars[0]?.name}</span>
      <span className={classes.middle}>{middle?.name}</span>
      <span>{bars.at(-1)?.name}</span>
    </div>
  )
}

/** Which bar is chosen, and which says its value: that below the pointer, else the chosen one while the chart has focus. */
function useCursor(count: number) {
  const [chosen, choose] = useState<number | null>(null)
  const [below, setBelow] = useState<number | null>(null)
  const [hasFocus, setFocus] = useState(false)
  // The newest comes first. A shorter time may have fewer bars.
  const at = Math.min(chosen ?? count - 1, count - 1)
  const pointed = ({ clientX, currentTarget }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return barAt((clientX - left) / width, count)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      setFocus(false)
      setBelow(null)
    }
    const next = event.ctrlKey || event.metaKey || event.altKey ? null : barAfter(event.key, at, count)
    if (next === null) return
    // The page would scroll.
    event.preventDefault()
    choose(next)
    setBelow(null)
    setFocus(true)
  }
  return {
    at,
    shown: below ?? (hasFocus ? at : null),
    handlers: {
      onKeyDown,
      onFocus: () => setFocus(true),
      onBlur: () => setFocus(false),
      onPointerMove: (event: PointerEvent) => setBelow(pointed(event)),
      onPointerLeave: () => setBelow(null),
      // A touch screen has no hover: a tap chooses the bar, and the focus keeps it.
      onPointerDown: (event: PointerEvent) => choose(pointed(event)),
    },
  }
}
