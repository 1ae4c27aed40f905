import type { ReactNode } from 'react'
import { useId } from 'react'
import classes from './section.module.css'

interface SectionProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly children: ReactNode
}

/** A part of a screen under its own heading. */
export function Section({ title, lead, children }: SectionProps) {
  const id = useId()
  return (
    <section className={classes.section} aria-labelledby={id}>
      <h2 id={id} className={classes.title}>
        {title}
      </h2>
      {lead === undefined ? null : <p className={classes.lead}>{lead}</p>}
      <div className={classes.content}>{children}</div>
    </section>
  )
}
