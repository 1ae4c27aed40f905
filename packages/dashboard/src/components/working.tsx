import { Button } from '@mantine/core'
import type { ReactNode, Ref } from 'react'
import classes from './working.module.css'

interface PanelProps {
  readonly children: ReactNode
  /** The text is red, and screen readers read it at once. */
  readonly isFault?: boolean
}

/** The result of a longer action, or its progress. */
export const Panel = ({ children, isFault = false }: PanelProps) => (
  <div className={isFault ? classes.broken : classes.panel} role={isFault ? 'alert' : 'status'}>
    {children}
  </div>
)

interface StoppedProps {
  /** "Paused". */
  readonly state: string
  readonly children: ReactNode
  /** For whoever brings the focus here. */
  readonly ref?: Ref<HTMLDivElement>
}

/** What a page of a thing begins with that nodes refuse, and that can be given back. */
export const Stopped = ({ state, children, ref }: StoppedProps) => (
  <div className={classes.stopped} role="status" ref={ref} tabIndex={-1}>
    <p className={classes.text}>
      <strong>{state}.</strong> {children}
    </p>
  </div>
)

interface WorkingProps {
  readonly children: ReactNode
  /** How much is done, of `max`; without it the bar is indeterminate. */
  readonly done?: { readonly value: number; readonly max: number }
  /** Cancels the action. */
  readonly onStop?: () => void
}

/** The running action. */
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
