import type { ReactNode } from 'react'
import { CopyText } from './copy-text.tsx'
import classes from './facts.module.css'

export interface Fact {
  readonly label: string
  readonly value?: ReactNode
  /** Set for ids and the like: shown in monospace with a button that copies it. */
  readonly copied?: string
}

/** What is known about one thing, a line each, two beside each other where they fit. */
export const Facts = ({ facts }: { facts: readonly Fact[] }) => (
  <dl className={classes.facts}>
    {facts.map(({ label, value, copied }) => (
      <div key={label} className={classes.fact}>
        <dt className={classes.label}>{label}</dt>
        <dd className={classes.value}>
          {copied === undefined ? value : <CopyText text={copied} label={`Copy: ${label}`} />}
        </dd>
      </div>
    ))}
  </dl>
)
