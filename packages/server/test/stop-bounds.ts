import { bulkValues } from './bulks.ts'
import { type Bound, bound, length } from './column-bounds.ts'
import { networkBounds } from './network-bounds.ts'
import { pauseValues } from './pauses.ts'
import { suspensionValues } from './suspensions.ts'

/** The check constraints on what pauses keys, suspends tenants, changes or imports many keys and says from where keys may be used. */
export const stopBounds: Record<string, Bound> = {
  ...networkBounds,
  api_keys_disabled: bound('(disabled_at, disabled_reason, disabled_by)', pauseValues.ok, pauseValues.bad),
  api_keys_source_id_bounds: length('source_id', 1, 200),
  tenants_suspended: bound('(suspended_at, suspended_reason)', suspensionValues.ok, suspensionValues.bad),
  ...Object.fromEntries(
    Object.entries(bulkValues).map(([name, [column, ok, bad]]) => [
      `bulk_operations_${name}`,
      bound(column, ok, bad),
    ]),
  ),
}
