import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'

const attemptsMax = 3
const waitMsMax = 15_000

/** Reads repeat while the service is busy or cannot be reached. A change never repeats by itself. */
export const makeQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        retry: (failures, error) =>
          error instanceof ApiError && error.isTemporary && failures < attemptsMax - 1,
        retryDelay: (failures, error) => {
          const asked = error instanceof ApiError ? error.retryAfterSeconds : null
          return Math.min(asked === null ? 500 * 2 ** failures : asked * 1_000, waitMsMax)
        },
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  })
