import { Type } from './schema.ts'
import { strictObject } from './shared.ts'

/** Why a process that is ready cannot do all it should. */
export const degradations = ['standby_away'] as const

export const Alive = strictObject({ status: Type.Literal('ok') })

export const Ready = strictObject({
  status: Type.Union([Type.Literal('ready'), Type.Literal('degraded')]),
  /** Only with `degraded`. */
  reasons: Type.Optional(
    Type.Array(Type.Union(degradations.map(reason => Type.Literal(reason))), {
      description:
        'With `degraded`. `standby_away`: reads and the feed go on, and changes get 503, since no synchronous standby confirms them.',
    }),
  ),
})
