import type { ServerResponse } from 'node:http'

/** Whether there is nothing left to answer: somebody else has, or the customer is gone. */
export const isOver = ({ headersSent, writableEnded, destroyed }: ServerResponse): boolean =>
  headersSent || writableEnded || destroyed

/** Does something once, just before the answer begins, or when it is clear that there will be none. */
export function beforeAnswer(response: ServerResponse, work: () => void): void {
  const { writeHead } = response
  let isDone = false
  const begin = () => {
    if (isDone) return
    isDone = true
    work()
  }
  // Node comes here for every answer, also for one whose head nobody writes by name.
  Object.assign(response, {
    writeHead(...given: unknown[]): ServerResponse {
      begin()
      return writeHead.apply(response, given as never)
    },
  })
  response.once('close', begin)
}
