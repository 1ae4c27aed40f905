import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './working.module.css'

interface PanelProps {
  readonly children: ReactNode
  /** In red, and said at once. */
  readonly isFault?: boolean
}

/** What a longer work came to, or how far it is. */
export const Panel = ({ children, isFault = false }: PanelProps) => (
  <div className={isFault ? classes.broken : classes.panel} role={isFault ? 'alert' : 'status'}>
    {children}
  </div>
)

interface WorkingProps {
  readonly children: ReactNode
  /** How much of the whole is done; without it the bar has no end. */
  readonly done?: { readonly value: number; readonly max: number }
  /** Ends it early. */
  readonly onStop?: () => void
}

/** What is under way. */
export const Working = ({ children, done, onStop }: WorkingProps) => (
  <Panel>
    <div className={classes.line}>
      <p className={classes.text}>{children}</p>
      {onStop === undefined ? null : (
        <Button variant="default" size="xs" onClick={onStop}>
          Stop
        </Button>
      )}
    </div>
    <progress className={classes.bar} aria-label="Progress" {...done} />
  </Panel>
)
