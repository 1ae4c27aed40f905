import { createHash } from 'node:crypto'
import { CIDR, IMPORTED, SUSPENDED } from '../feed/listed.ts'
import { hasLabels, type Scope } from '../feed/record.ts'
import { ID_WORDS } from '../store/key-ids.ts'
import type { SavedLabels } from '../store/labels.ts'
import { readRateLimits, toWireRateLimits, type WireRateLimit } from '../store/rate-limits.ts'
import { isSound, RECORD_WORDS } from '../store/record-layout.ts'
import { emptyShared, type Shared } from '../store/shared-list.ts'
import { Store } from '../store/store.ts'
import {
  isSavedNetworks,
  readSaved,
  type SavedNetworks,
  saveNetworks,
  tenantNetworksIn,
} from './saved-networks.ts'

/**
 * The format of the disk snapshot, without any I/O. Records have the same bytes as in memory, so that loading copies them:
 *
 *     format (20) | word order (4) | length of the header (4) | header, JSON | zeros up to a multiple of 64
 *     | records, 64 bytes each | key ids, 16 bytes each | SHA-256 of all before it (32)
 *
 * The checksum detects damage by a disk or a crash. Permissions of the directory protect against attackers.
 */

/** A new layout needs a new number. An added or removed header field does not. */
const FORMAT = Buffer.from('keyrail-policy-v001\n')
/** Written in the byte order of the machine: another byte order reads another number. */
const WORD_ORDER = 0x0a0b0c0d
const HEAD_BYTES = FORMAT.length + 8
const SUM_BYTES = 32

/** What a snapshot holds beside the keys. */
export interface SnapshotFacts {
  workspaceId: string
  version: number
  /** When the keys were last confirmed, by the wall clock and by the machine's uptime, in ms. */
  confirmedWall: number
  confirmedUptime: number
  /** The same by the service's clock; undefined if unknown. */
  confirmedService?: number | undefined
  features?: readonly string[] | undefined
}

/** Stored as JSON, with the field names of the feed. */
interface Header {
  workspace_id: string
  project_id: string
  env: 'live' | 'test' | null
  /** Address of the service that the keys came from. Absent: unknown. */
  service?: string | undefined
  version: number
  fetched_at: number
  fetched_uptime_ms: number
  /** By the service's clock. Absent: unknown. */
  service_at?: number | undefined
  /** Whether these are all keys of the project and environment. */
  complete: boolean
  /** The tenants whose keys the writer held. Absent: unknown. Empty: the whole project. */
  scope?: { tenant_ids: readonly string[] }
  /** Keys that the writer dropped for lack of memory. */
  evictions: number
  uses: number
  /** The features that the writer asked for, and those that the service knew. Absent: none. */
  features?: { asked: readonly string[]; known: readonly string[] }
  labels?: SavedLabels | undefined
  /** Ids of suspended tenants. Absent: the writer did not ask for them. */
  suspended?: readonly string[] | undefined
  /** Networks of keys and tenants. Absent: the writer did not ask for them. */
  allowed_cidrs?: SavedNetworks | undefined
  /** True: the project takes keys from elsewhere. Absent: false, if the writer knew of such keys. */
  accepts_imported?: boolean | undefined
  records: number
  other_ids: readonly [slot: number, id: string][]
  tenants: readonly string[]
  scopes: readonly (readonly string[])[]
  rate_limits: readonly (readonly WireRateLimit[])[]
}

export interface Loaded extends SnapshotFacts {
  store: Store
  /** True: a key that is missing here does not exist in the service either. */
  isWhole: boolean
  features: readonly string[]
}

export type Refusal = { refused: 'damaged' | 'foreign' | 'scope'; why: string }

export function encodeSnapshot(store: Store, scope: Scope, facts: SnapshotFacts, isWhole = true): Buffer {
  const { records } = store
  const header: Header = {
    workspace_id: facts.workspaceId,
    project_id: scope.projectId,
    env: scope.env === 'both' ? null : scope.env,
    service: scope.service,
    version: facts.version,
    fetched_at: facts.confirmedWall,
    fetched_uptime_ms: facts.confirmedUptime,
    service_at: facts.confirmedService,
    complete: isWhole && store.evictions === 0 && scope.tenantIds.length === 0,
    scope: { tenant_ids: scope.tenantIds },
    evictions: store.evictions,
    uses: store.uses,
    ...(scope.features?.length && { features: { asked: scope.features, known: facts.features ?? [] } }),
    labels: store.labels?.dump(records.slots()),
    suspended: scope.features?.includes(SUSPENDED) ? [...store.suspended] : undefined,
    allowed_cidrs: scope.features?.includes(CIDR) ? saveNetworks(store) : undefined,
    accepts_imported: store.acceptsImported || undefined,
    records: records.size,
    other_ids: records.otherIds(),
    tenants: records.shared.tenants.values,
    scopes: records.shared.scopes.values,
    rate_limits: records.shared.limits.values.map(toWireRateLimits),
  }
  return assemble(header, (words, ids) => records.dump(words, ids))
}

/** Lays out the parts and appends the checksum. It takes any header, so that tests can write other ones. */
export function assemble(
  header: Pick<Header, 'records'>,
  fill: (words: Int32Array, ids: Int32Array) => void,
): Buffer {
  const text = Buffer.from(JSON.stringify(header))
  const recordsAt = alignedTo64(HEAD_BYTES + text.length)
  const idsAt = recordsAt + header.records * RECORD_WORDS * 4
  const sumAt = idsAt + header.records * ID_WORDS * 4
  const file = new ArrayBuffer(sumAt + SUM_BYTES)
  const bytes = Buffer.from(file)
  FORMAT.copy(bytes)
  new Int32Array(file, FORMAT.length, 2).set([WORD_ORDER, text.length])
  text.copy(bytes, HEAD_BYTES)
  fill(
    new Int32Array(file, recordsAt, header.records * RECORD_WORDS),
    new Int32Array(file, idsAt, header.records * ID_WORDS),
  )
  sumOf(bytes.subarray(0, sumAt)).copy(bytes, sumAt)
  return bytes
}

/**
 * Reads a file for a node with this scope. Refuses a file with any invalid part.
 *
 * @param file an ArrayBuffer that holds the file alone
 * @param mostKeys the most keys that the reader may hold
 */
export function decodeSnapshot(file: ArrayBuffer, scope: Scope, mostKeys: number): Loaded | Refusal {
  const bytes = Buffer.from(file)
  const sumAt = bytes.length - SUM_BYTES
  if (sumAt < HEAD_BYTES) return damaged('it is cut short')
  if (!bytes.subarray(0, FORMAT.length).equals(FORMAT)) return damaged('it has another format')
  const sum = bytes.subarray(sumAt)
  if (!sumOf(bytes.subarray(0, sumAt)).equals(sum)) return damaged('its checksum is wrong')
  const [order, length = -1] = new Int32Array(file, FORMAT.length, 2)
  if (order !== WORD_ORDER) return damaged('it was written with another byte order')
  if (length < 0 || HEAD_BYTES + length > sumAt) return damaged('its header is cut short')
  const header = readHeader(bytes.toString('utf8', HEAD_BYTES, HEAD_BYTES + length))
  if (typeof header === 'string') return damaged(header)

  const { records } = header
  const recordsAt = alignedTo64(HEAD_BYTES + length)
  const idsAt = recordsAt + records * RECORD_WORDS * 4
  if (idsAt + records * ID_WORDS * 4 !== sumAt) return damaged('its length is wrong')
  const foreign = foreignness(header, scope)
  if (foreign) return foreign
  if (records > mostKeys)
    return { refused: 'scope', why: `it has ${records} keys, and this node may hold ${mostKeys}` }

  const words = new Int32Array(file, recordsAt, records * RECORD_WORDS)
  const shared = sharedOf(header)
  for (let slot = 0; slot < records; slot++)
    if (!isSound(words, slot, shared)) return damaged(`its record ${slot} is wrong`)
  const known = header.features?.known ?? []
  const store = new Store(mostKeys, hasLabels(scope))
  store.restore({
    words,
    ids: new Int32Array(file, idsAt, records * ID_WORDS),
    otherIds: header.other_ids,
    shared,
    uses: header.uses,
    suspended: header.suspended,
    ownNetworks: header.allowed_cidrs?.keys,
    tenantNetworks: header.allowed_cidrs && tenantNetworksIn(header.allowed_cidrs),
    acceptsImported: header.accepts_imported ?? (known.includes(IMPORTED) ? false : undefined),
    labels: header.labels,
  })
  store.evictions = header.evictions
  return {
    store,
    // Believe the writer only if it is known which tenants it covered.
    isWhole: header.scope !== undefined && (header.complete || scope.tenantIds.length > 0),
    features: known,
    workspaceId: header.workspace_id,
    version: header.version,
    confirmedWall: header.fetched_at,
    confirmedUptime: header.fetched_uptime_ms,
    confirmedService: header.service_at,
  }
}

function foreignness(
  { project_id, env, service, features, scope: writer }: Header,
  scope: Scope,
): Refusal | undefined {
  if (project_id !== scope.projectId) return { refused: 'foreign', why: 'it belongs to another project' }
  if (env !== (scope.env === 'both' ? null : scope.env)) {
    return { refused: 'foreign', why: 'it belongs to another environment' }
  }
  if (service !== undefined && scope.service !== undefined && service !== scope.service)
    return { refused: 'foreign', why: 'it belongs to another service' }
  // What it lacks comes with the next answer of the service, which names more features than the file does.
  if (!(features?.asked ?? []).every(name => scope.features?.includes(name)))
    return { refused: 'scope', why: 'it was written for other features' }
  if (writer === undefined) {
    if (scope.tenantIds.length === 0) return undefined
    return { refused: 'scope', why: 'it does not say which tenants it covers' }
  }
  const isSame = writer.tenant_ids.join() === scope.tenantIds.join()
  return isSame ? undefined : { refused: 'scope', why: 'it was written for other tenants' }
}

const damaged = (why: string): Refusal => ({ refused: 'damaged', why })

/** The header, or a text that says what is wrong with it. */
function readHeader(text: string): Header | string {
  let header: Header
  try {
    header = JSON.parse(text)
  } catch {
    return 'its header is not JSON'
  }
  const {
    workspace_id,
    project_id,
    env,
    service,
    complete,
    scope,
    other_ids,
    tenants,
    scopes,
    rate_limits,
    features,
    labels,
    suspended,
    allowed_cidrs,
    accepts_imported,
  } = header
  const counts = [header.version, header.evictions, header.uses, header.records]
  const times = [header.fetched_at, header.fetched_uptime_ms, header.service_at ?? 0]
  const isRight =
    typeof workspace_id === 'string' &&
    typeof project_id === 'string' &&
    (service === undefined || typeof service === 'string') &&
    (env === null || env === 'live' || env === 'test') &&
    typeof complete === 'boolean' &&
    counts.every(count => Number.isSafeInteger(count) && count >= 0) &&
    times.every(time => typeof time === 'number' && Number.isFinite(time)) &&
    (features === undefined || (isTexts(features?.asked) && isTexts(features?.known))) &&
    (labels === undefined || (Array.isArray(labels?.keys) && Array.isArray(labels?.tenants))) &&
    (suspended === undefined ? !features?.known.includes(SUSPENDED) : isTexts(suspended)) &&
    (allowed_cidrs === undefined
      ? !features?.known.includes(CIDR)
      : isSavedNetworks(allowed_cidrs, header.records)) &&
    (accepts_imported === undefined || typeof accepts_imported === 'boolean') &&
    (scope === undefined || isTexts(scope?.tenant_ids)) &&
    Array.isArray(other_ids) &&
    other_ids.every(
      entry => Number.isSafeInteger(entry?.[0]) && entry[0] < header.records && typeof entry[1] === 'string',
    ) &&
    isTexts(tenants) &&
    Array.isArray(scopes) &&
    scopes.every(isTexts) &&
    Array.isArray(rate_limits) &&
    rate_limits.length > 0 &&
    rate_limits.every(limits => readRateLimits(limits) !== null)
  return isRight ? header : 'its header is wrong'
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(text => typeof text === 'string')

/** The lists in their order. Two equal entries, which our writer never writes, would shift all that follow. */
function sharedOf({ tenants, scopes, rate_limits, allowed_cidrs }: Header): Shared {
  const shared = emptyShared()
  for (const tenant of tenants) shared.tenants.add(tenant)
  for (const list of scopes) shared.scopes.add(list)
  for (const limits of rate_limits.slice(1)) shared.limits.add(readRateLimits(limits) ?? [])
  for (const list of allowed_cidrs?.lists ?? []) shared.networks.add(readSaved(list))
  return shared
}

const sumOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

const alignedTo64 = (at: number): number => Math.ceil(at / 64) * 64
