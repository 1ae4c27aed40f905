import type { ReactNode } from 'react'
import classes from './empty.module.css'

interface EmptyProps {
  readonly title: string
  /** Why there is nothing, and what to do about it. */
  readonly children?: ReactNode
}

/** A place with nothing in it yet. */
export const Empty = ({ title, children }: EmptyProps) => (
  <div className={classes.empty}>
    <h2 className={classes.title}>{title}</h2>
    {children === undefined ? null : <div className={classes.body}>{children}</div>}
  </div>
)
