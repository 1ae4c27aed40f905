import type { KeyExplanation, NodesOfKey, Reason } from '@keyrail/contract/vendor/explain'
import type { Key } from '@keyrail/contract/vendor/keys'
import { Button, TagsInput, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { explainKey } from '../../api/keys.ts'
import { getProject } from '../../api/projects.ts'
import { refusalWords } from '../../components/refusal-words.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Section } from '../../components/section.tsx'
import { timesInWords } from '../../components/time.ts'
import { Trouble } from '../../components/trouble.tsx'
import { useSending } from '../../components/use-sending.ts'
import { Panel } from '../../components/working.tsx'
import { CheckIcon, WarningIcon } from '../../icons.tsx'
import classes from './test-key.module.css'

/** Whether the nodes accept the key, and why not. */
export function TestKey({ of: key }: { readonly of: Key }) {
  const [scopes, setScopes] = useState<string[]>([])
  const [ip, setIp] = useState('')
  const [explanation, setExplanation] = useState<KeyExplanation | null>(null)
  const [{ isBusy, trouble }, send] = useSending()
  const client = useQueryClient()
  const project = useQuery({
    queryKey: ['projects', 'one', key.project_id],
    queryFn: ({ signal }) => getProject({ id: key.project_id }, { signal }),
  })
  const known = project.data?.known_scopes ?? []
  const test = (event: FormEvent) => {
    event.preventDefault()
    setExplanation(null)
    void send(async () => {
      const query = { ...(scopes.length > 0 && { scopes }), ...(ip.trim() !== '' && { ip: ip.trim() }) }
      setExplanation(await explainKey({ id: key.id, query }))
      // The facts above may be older.
      await client.invalidateQueries({ queryKey: ['keys', 'one', key.id] })
    })
  }
  return (
    <Section title="Test this key" lead="What your nodes answer now, and why. Nothing is charged or counted.">
      <form className={classes.form} onSubmit={test}>
        <TagsInput
          label="Scopes that the request needs (optional)"
          data={[...new Set([...key.scopes, ...known])]}
          maxTags={64}
          value={scopes}
          onChange={setScopes}
        />
        <TextInput
          label="Address of the caller (optional)"
          placeholder="203.0.113.7"
          maxLength={64}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          value={ip}
          onChange={event => setIp(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={isBusy}>
          Test key
        </Button>
      </form>
      {trouble === null ? null : <Trouble error={trouble} />}
      {explanation === null ? null : <Explained explanation={explanation} />}
    </Section>
  )
}

function Explained({ explanation }: { readonly explanation: KeyExplanation }) {
  const { accepted, code, reasons, nodes } = explanation
  const first = reasons.find(({ applies }) => applies)
  return (
    <>
      <Panel isFault={!accepted}>
        <p className={classes.verdict}>
          <strong>
            {accepted || code === 'valid' ? 'Accepted.' : `Refused: ${refusalWords[code as Reason['code']]}.`}
          </strong>{' '}
          {first === undefined ? 'A request with this key passes.' : timesInWords(first.detail)}
        </p>
        {nodes === null ? null : <Nodes nodes={nodes} />}
      </Panel>
      <ul className={classes.reasons} aria-label="Reasons for a refusal">
        {reasons.map(reason => (
          <li key={reason.code} className={reason.applies ? classes.applies : classes.passes}>
            {reason.applies ? <WarningIcon size={16} /> : <CheckIcon size={16} />}
            <span className={classes.name}>
              {refusalWords[reason.code]}: {reason.applies ? 'yes' : 'no'}
            </span>
            <span>{timesInWords(reason.detail)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** A node with an older version answers as it did before the change. */
function Nodes({ nodes: { live, current, behind, full } }: { readonly nodes: NodesOfKey }) {
  if (live === 0) return <p className={classes.verdict}>No live node holds it.</p>
  const all = live === 1 ? 'The live node holds' : `All ${live} live nodes hold`
  return (
    <>
      <p className={classes.verdict}>
        {current === live
          ? `${all} its last change.`
          : `${current} of ${live} live nodes hold its last change.`}
        {full === 0 ? '' : ` ${full} of them are nearly full, and can lack it.`}
      </p>
      {behind.length === 0 ? null : (
        <>
          <p className={classes.verdict}>These still answer as before the change:</p>
          <ul className={classes.behind}>
            {behind.map(({ node, seen_at }) => (
              <li key={node}>
                <code>{node}</code>, seen <RelativeTime at={seen_at} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
