import type { ReactNode } from 'react'
import classes from './two-lines.module.css'

interface TwoLinesProps {
  readonly first: ReactNode
  readonly second: ReactNode
}

/** A cell of a table with a second text below its first. */
export const TwoLines = ({ first, second }: TwoLinesProps) => (
  <>
    <span className={classes.first}>{first}</span>
    <span className={classes.second}>{second}</span>
  </>
)
