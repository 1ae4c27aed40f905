import type { Env } from '@keyrail/contract/shared'
import type { Refusals, ShadowFigures } from '@keyrail/contract/vendor/usage'
import { useQuery } from '@tanstack/react-query'
import { getRefusals } from '../../api/usage.ts'
import { FigureTile } from '../../components/figure-tile.tsx'
import { figure, shortFigure } from '../../components/figures.ts'
import { refusalWords } from '../../components/refusal-words.ts'
import { Section } from '../../components/section.tsx'
import { Trouble } from '../../components/trouble.tsx'
import { shownWorkspaceId } from '../../session/workspace.ts'
import classes from './shadow.module.css'
import { shareInWords } from './shadow-share.ts'

/** Long enough for the customers that call on weekdays alone, and short enough that what was mended disappears. */
const days = 7
const title = `Shadow, ${days} days`
const none: ShadowFigures = { agreed: 0, accepted: 0, refused: [], guards: [] }

/** Where keyrings and an old check disagree. Nothing stands here for a project in which none was in shadow. */
export function Shadow({ projectId, env }: { projectId: string; env: Env }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['usage', 'shadow', shownWorkspaceId(), projectId, env],
    queryFn: ({ signal }) => getRefusals({ query: { project_id: projectId, env, days } }, { signal }),
  })
  const figures = shadowOf(data)
  const { agreed, accepted, refused, guards } = figures
  const isCompared = agreed + accepted + refused.length > 0
  if (error === null && !isCompared && guards.length === 0) return null
  return (
    <Section title={title} lead={isCompared ? comparedLead : judgedLead}>
      {error === null ? null : <Trouble error={error} onRetry={() => void refetch()} />}
      {isCompared ? <Compared figures={figures} /> : null}
      {refused.length === 0 ? null : <Causes title="Refused here alone, by cause" refused={refused} />}
      {guards.length === 0 ? null : (
        <Causes
          title={
            isCompared ? 'Would be refused by guards, whatever your old check says' : 'Would be refused here'
          }
          refused={guards}
        />
      )}
    </Section>
  )
}

/** A process of the release before does not say all of it. */
const shadowOf = ({ shadow }: { shadow?: Partial<Refusals['shadow']> } = {}): ShadowFigures => ({
  ...none,
  ...shadow,
})

const comparedLead =
  'Requests that your servers judged with Keyrail beside your old check. Keyrail refused none of them. Switch when no difference is left that you did not expect.'
/** Guards do not know what an old check says. */
const judgedLead =
  'Requests that your servers judged in shadow. Keyrail refused none of them, and your old check may refuse some too. Switch when no cause is left that you did not expect.'

function Compared({ figures: { agreed, accepted, refused } }: { figures: ShadowFigures }) {
  const refusals = sumOf(refused)
  return (
    <dl className={classes.figures}>
      <Figure label="Agreed" value={agreed} note={`${shareInWords(agreed, accepted + refusals)} of all`} />
      <Figure label="Accepted by your old check, refused here" value={refusals} />
      <Figure label="Refused by your old check, accepted here" value={accepted} />
    </dl>
  )
}

const Figure = ({ label, value, note }: { label: string; value: number; note?: string }) => (
  <FigureTile
    label={label}
    value={shortFigure(value)}
    whole={figure(value)}
    {...(note === undefined ? {} : { note })}
  />
)

const Causes = ({ title: heading, refused }: { title: string } & Pick<ShadowFigures, 'refused'>) => (
  <>
    <h3 className={classes.heading}>{heading}</h3>
    <dl className={classes.causes}>
      {refused.map(({ reason, count }) => (
        <div key={reason} className={classes.cause}>
          <dt>{refusalWords[reason]}</dt>
          <dd className={classes.times} title={figure(count)}>
            {shortFigure(count)}
          </dd>
        </div>
      ))}
    </dl>
  </>
)

const sumOf = (refused: ShadowFigures['refused']): number =>
  refused.reduce((sum, { count }) => sum + count, 0)
