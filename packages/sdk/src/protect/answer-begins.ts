import type { ServerResponse } from 'node:http'

/** Whether other code has answered the request, or its client has gone. */
export const isOver = ({ headersSent, writableEnded, destroyed }: ServerResponse): boolean =>
  headersSent || writableEnded || destroyed

/** Runs the work after an answer with a status below 400. */
export function afterAnswer(response: ServerResponse, work: () => void): void {
  response.once('finish', () => {
    if (response.statusCode < 400) work()
  })
}

/** Runs the work once, just before the answer begins, or when the response closes without one. */
export function beforeAnswer(response: ServerResponse, work: () => void): void {
  const { writeHead } = response
  let isDone = false
  const begin = () => {
    if (isDone) return
    isDone = true
    work()
  }
  // Node calls writeHead for every answer, also if no handler does.
  Object.assign(response, {
    writeHead(...given: unknown[]): ServerResponse {
      begin()
      return writeHead.apply(response, given as never)
    },
  })
  response.once('close', begin)
}
