import { Group, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import classes from './page-frame.module.css'
import { paletteStore } from './palette-store.ts'

interface PageFrameProps {
  readonly title: string
  /** True if the title comes with an answer. On a phone the action then stands below the title from the start, so that nothing moves. */
  readonly isNamedLater?: boolean
  /** The one primary action of the screen. */
  readonly action?: ReactNode
  /** A line under the title. */
  readonly lead?: ReactNode
  readonly children: ReactNode
}

let isFirstPage = true

/** The frame of every screen: its title, which gets the focus after a navigation, and one primary action. */
export function PageFrame({ title, isNamedLater = false, action, lead, children }: PageFrameProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Keyrail`
  }, [title])
  useEffect(() => {
    // A person may already type into the palette when the code of a screen arrives.
    const isPaletteOpen = paletteStore.getState().opened
    if (!isFirstPage && !isPaletteOpen) heading.current?.focus({ preventScroll: true })
    isFirstPage = false
  }, [])
  return (
    <div className={classes.page}>
      <Group
        justify="space-between"
        align="center"
        mih={36}
        gap="xs"
        className={isNamedLater ? classes.named : undefined}
      >
        <Title order={1} ref={heading} tabIndex={-1}>
          {title}
        </Title>
        {action}
      </Group>
      {lead === undefined ? null : <p className={classes.lead}>{lead}</p>}
      <div className={classes.content}>{children}</div>
    </div>
  )
}
