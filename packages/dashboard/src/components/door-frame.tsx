import { Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { Mark } from '../icons.tsx'
import classes from './door-frame.module.css'

interface DoorFrameProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly children?: ReactNode
  /** Links to the other pages of this kind. */
  readonly aside?: ReactNode
}

/** The frame of the pages outside of a workspace. A new title gets the focus: it says what happened. */
export function DoorFrame({ title, lead, children, aside }: DoorFrameProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef<string | null>(null)
  useEffect(() => {
    document.title = `${title} · Keyrail`
    if (shown.current !== null) heading.current?.focus()
    shown.current = title
  }, [title])
  return (
    <div className={classes.ground}>
      <main className={classes.card}>
        <p className={classes.brand}>
          <Mark size={28} />
          Keyrail
        </p>
        <Title order={1} ref={heading} tabIndex={-1}>
          {title}
        </Title>
        {lead === undefined ? null : <p className={classes.lead}>{lead}</p>}
        {children}
        {aside === undefined ? null : <div className={classes.aside}>{aside}</div>}
      </main>
    </div>
  )
}
