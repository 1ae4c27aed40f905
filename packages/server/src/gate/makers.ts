import type { Deadline } from '../platform/concurrency/deadline.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import { sql } from '../platform/db/connection.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Row } from '../platform/db/lanes/spec.ts'

/** A secret key below its maker. Neither ever changes, so it may be remembered. */
export interface Made {
  /** Unique among persons and keys of a workspace. */
  readonly name: string
  /** The person or key that made it; null: this is a person, or a key without a maker in the workspace. */
  readonly maker: Made | null
  /** How many makers are above it. */
  readonly depth: number
}

/** Finds who made a secret key, and who made that maker, up to a person. */
export interface FindMakers {
  run(workspaceId: string, id: string, deadline: Deadline): Promise<Made>
}

/** Up to so many levels are read at once. */
const levelsMax = 64

const makersStatement = sql(
  'gate.makers',
  `with recursive up as (
     select u.place, 1 as level, k.workspace_id, k.id, k.created_by_type as type, k.created_by_id as maker
     from unnest($1::uuid[], $2::uuid[]) with ordinality u(workspace_id, id, place)
     join secret_keys k on k.workspace_id = u.workspace_id and k.id = u.id
     union all
     select up.place, up.level + 1, k.workspace_id, k.id, k.created_by_type, k.created_by_id
     from up join secret_keys k on k.workspace_id = up.workspace_id and k.id = up.maker::uuid
     where up.type = 'secret_key' and up.level < ${levelsMax}
   )
   select place, id, type, maker from up order by place, level`,
)

interface Level {
  readonly id: string
  readonly type: string
  /** The id of the maker. */
  readonly maker: string | null
}

/** About 150 bytes each. */
const rememberedMax = 50_000

export function openMakers(lanes: Lanes): FindMakers {
  const known = recentlyUsed<Made>(rememberedMax)
  const lane = lanes.open<{ workspaceId: string; id: string }, Level[]>({
    name: 'makers',
    shares: 'reads',
    statement: makersStatement,
    repeatable: true,
    nameOf: ({ workspaceId, id }) => `${workspaceId} ${id}`,
    values: keys => [keys.map(key => key.workspaceId), keys.map(key => key.id)],
    answers: (rows, keys) => {
      const byPlace = Map.groupBy(rows, ({ place }) => Number(place))
      return keys.map((_, i) => (byPlace.get(i + 1) ?? []).map(toLevel))
    },
  })
  return {
    async run(workspaceId, id, deadline) {
      const nameOf = (keyId: string) => `${workspaceId} ${keyId}`
      const before = known.get(nameOf(id))
      if (before !== undefined) return before
      const levels: Level[] = []
      let above: Made | undefined
      for (let next: string | null = id; next !== null && above === undefined; ) {
        const read: Level[] = await lane.run({ workspaceId, id: next }, deadline)
        for (const level of read) {
          above = known.get(nameOf(level.id))
          if (above !== undefined) break
          levels.push(level)
        }
        const last: Level | undefined = read.at(-1)
        next = last?.type === 'secret_key' && read.length === levelsMax ? last.maker : null
      }
      let made = above ?? madeBy(levels.at(-1))
      for (const level of levels.toReversed()) {
        made = below(made, `key ${level.id}`)
        known.set(nameOf(level.id), made)
      }
      return made ?? below(null, `key ${id}`)
    },
  }
}

const below = (maker: Made | null, name: string): Made => ({
  name,
  maker,
  depth: maker === null ? 0 : maker.depth + 1,
})

/** Above the first key: the person who made it, if one did. */
const madeBy = (first: Level | undefined): Made | null =>
  first?.type === 'user' ? below(null, `user ${first.maker}`) : null

const toLevel = ({ id, type, maker }: Row): Level => ({
  id: String(id),
  type: String(type),
  maker: maker === null ? null : String(maker),
})
