import type { TenantKeyNeeds } from '../keys/tenant-keys.ts'
import type { Cursors } from '../platform/paging/cursor.ts'
import type { MintNeeds } from './mint.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface EmbedNeeds extends TenantKeyNeeds, MintNeeds {
  readonly config: TenantKeyNeeds['config'] & { readonly publicUrl: string }
  readonly cursors: Cursors
}
