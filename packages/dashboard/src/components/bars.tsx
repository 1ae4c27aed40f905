import { VisuallyHidden } from '@mantine/core'
import classes from './bars.module.css'
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
/** A bar of something stays visible beside much larger ones. */
const least = 2

/** Figures over time as bars, and as a table for those who do not see them. */
export function Bars({ label, bars }: BarsProps) {
  const most = Math.max(0, ...bars.map(({ value }) => value))
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max(least, (value / most) * height))
  return (
    <figure className={classes.figure} aria-label={label}>
      {most === 0 ? <p className={classes.none}>Nothing in this time</p> : null}
      <div className={classes.scale} aria-hidden="true">
        {shortFigure(most)}
      </div>
      <svg
        className={classes.bars}
        viewBox={`0 0 ${bars.length * step} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        focusable="false"
      >
        {bars.map(({ name, value }, at) => (
          <g key={name} className={classes.bar}>
            <title>{`${name}: ${figure(value)}`}</title>
            <rect className={classes.place} x={at * step} y={0} width={step} height={height} />
            <rect
              x={at * step + gap / 2}
              y={height - heightOf(value)}
              width={step - gap}
              height={heightOf(value)}
            />
          </g>
        ))}
      </svg>
      <div className={classes.ends} aria-hidden="true">
        <span>{bars[0]?.name}</span>
        <span>{bars.at(-1)?.name}</span>
      </div>
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
