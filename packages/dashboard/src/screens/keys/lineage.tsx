import type { Key } from '@keyrail/contract/vendor/keys'
import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { getKey } from '../../api/keys.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/section.tsx'
import { exactTime } from '../../components/time.ts'
import classes from './lineage.module.css'
import { axisOf, type Life, lifeOf, overlapOf } from './lives.ts'

/** The key before and the key after this one. */
export function useRelatives({ id, rotated_from, rotated_to }: Key) {
  return useQuery({
    queryKey: ['keys', 'relatives', id, rotated_from, rotated_to],
    queryFn: async ({ signal }) => {
      const read = async (id: string | null) => (id === null ? null : await getKey({ id }, { signal }))
      // One after the other: the page of a key asks for much at once.
      const predecessor = await read(rotated_from)
      return { predecessor, successor: await read(rotated_to) }
    },
    enabled: rotated_from !== null || rotated_to !== null,
  })
}

/** The key before and the key after this one, and how long both worked. */
export function Lineage({ of: key }: { readonly of: Key }) {
  const relatives = useRelatives(key)
  return (
    <Section
      title="Lineage"
      lead="A rotation replaces a key with its successor. Both work during the overlap."
    >
      <Loaded query={relatives} skeleton={<Skeleton h={120} />}>
        {({ predecessor, successor }) => (
          <Lives
            lives={[
              ...(predecessor === null ? [] : [lifeOf(predecessor, 'Predecessor')]),
              lifeOf(key, 'This key'),
              ...(successor === null ? [] : [lifeOf(successor, 'Successor')]),
            ]}
            ownId={key.id}
          />
        )}
      </Loaded>
    </Section>
  )
}

const width = 1_000

function Lives({ lives, ownId }: { readonly lives: readonly Life[]; readonly ownId: string }) {
  const now = Date.now()
  const from = Math.min(...lives.map(({ from }) => from))
  const until = Math.max(now, ...lives.map(({ until }) => until ?? now))
  const at = (time: number) => (width * (time - from)) / Math.max(until - from, 1)
  const overlaps = lives.slice(1).flatMap((life, index) => overlapOf(lives[index], life) ?? [])
  return (
    <>
      <ol className={classes.lives}>
        {lives.map(({ id, role, title, from: start, until: end }) => (
          <li key={id} className={classes.life}>
            <span className={classes.name}>
              {role}: {id === ownId ? title : <Other id={id} title={title} />}
            </span>
            <svg
              className={classes.bar}
              viewBox={`0 0 ${width} 12`}
              preserveAspectRatio="none"
              aria-hidden="true"
              focusable="false"
            >
              <rect className={classes.time} x={0} y={5} width={width} height={2} />
              <rect
                className={id === ownId ? classes.own : classes.other}
                x={at(start)}
                y={1}
                width={Math.max(at(end ?? until) - at(start), 4)}
                height={10}
              />
              {overlaps.map(overlap => (
                <rect
                  key={overlap.from}
                  className={classes.overlap}
                  x={at(overlap.from)}
                  y={0}
                  width={Math.max(at(overlap.until) - at(overlap.from), 4)}
                  height={12}
                />
              ))}
              <rect className={classes.now} x={at(now) - 2} y={0} width={4} height={12} />
            </svg>
            <span className={classes.span}>{saySpan(start, end, now)}</span>
          </li>
        ))}
      </ol>
      <div className={classes.axis} aria-hidden="true">
        {axisOf(from, until, now).map((label, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the labels never move.
          <span key={place}>{label}</span>
        ))}
      </div>
      {until === now ? null : <p className={classes.span}>The upright line is now. A box is an overlap.</p>}
      {overlaps.map(overlap => (
        <p key={overlap.from} className={classes.span}>
          {now < overlap.until ? 'Both keys work' : 'Both keys worked'} from {exact(overlap.from)} until{' '}
          {exact(overlap.until)}.
        </p>
      ))}
    </>
  )
}

const Other = ({ id, title }: { readonly id: string; readonly title: string }) => (
  <Link to="/keys/$keyId" params={{ keyId: id }}>
    {title}
  </Link>
)

const exact = (time: number) => exactTime(new Date(time).toISOString())

function saySpan(from: number, until: number | null, now: number): string {
  if (until === null) return `Works since ${exact(from)}.`
  return until > now
    ? `Works since ${exact(from)}, ends on ${exact(until)}.`
    : `Worked from ${exact(from)} until ${exact(until)}.`
}
