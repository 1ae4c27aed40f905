import { Skeleton } from '@mantine/core'
import classes from './shell-pending.module.css'

/** The shell before the service has answered who is signed in: the same places, empty. */
export const ShellPending = () => (
  <div className={classes.shell} aria-busy="true">
    <div className={classes.header} />
    <div className={classes.side}>
      <Skeleton h={42} mb="md" />
      {Array.from({ length: 6 }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows never move.
        <Skeleton key={at} h={20} my={14} w="70%" />
      ))}
    </div>
    <div className={classes.page}>
      <Skeleton h={36} w={220} mb="lg" />
      <Skeleton h={320} />
    </div>
  </div>
)
