import { ApiError } from '../../api/api-error.ts'

/** Whether a mailed link does not work any more, or never did. A damaged token may be refused for its form. */
export const isDead = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.code === 'invalid_token' || error.faults.some(({ path }) => path === 'token'))
