import type { Dashboard } from './dashboard.ts'

/** What this room needs from outside; `deps.ts` has it. */
export interface DashboardNeeds {
  readonly config: {
    readonly dashboard: 'on' | 'off'
    readonly passwordMinLength: number
    readonly signUp: 'open' | 'invited' | 'closed'
    readonly mail: { readonly route: { readonly kind: 'folder' | 'smtp' } }
  }
  /** Whether this installation waits for its first account. */
  readonly firstAccount: { isMissing(): Promise<boolean> }
  readonly dashboard: Dashboard
  readonly randomBytes: (size: number) => Buffer
}
