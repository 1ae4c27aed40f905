import { notifications } from '@mantine/notifications'
import { textOf } from './trouble.tsx'

/** Runs an action for which the page has no form or dialog, and reports a failure in a corner. */
export const useReported =
  <Arguments extends unknown[]>(action: (...given: Arguments) => Promise<void>) =>
  (...given: Arguments): void => {
    action(...given).catch(error =>
      notifications.show({ color: 'red', title: 'That did not work', message: textOf(error) }),
    )
  }
