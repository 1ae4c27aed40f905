import { NativeSelect } from '@mantine/core'
import { CodeBlock } from '../../components/code-block.tsx'
import classes from './first-server.module.css'
import { type OtherSample, otherSamples, type SampleStep } from './other-samples.ts'
import { environmentSamples, type SampleValues, type ServerSample, serverSamples } from './snippets.ts'

interface FirstServerProps {
  readonly values: SampleValues
  /** The name of the chosen framework, language or proxy. */
  readonly framework: string
  readonly onFramework: (name: string) => void
}

/** From an empty folder to a server that verifies keys. Everything is there to copy. */
export function FirstServer({ values, framework, onFramework }: FirstServerProps) {
  const servers = serverSamples(values)
  const others = otherSamples(values)
  const server = servers.find(({ name }) => name === framework) ?? servers[0]
  const steps = others.find(({ name }) => name === framework)?.steps ?? stepsOf(server, values)
  const namesOf = (kind: OtherSample['kind']) =>
    others.filter(one => one.kind === kind).map(({ name }) => name)
  return (
    <>
      <NativeSelect
        label="Framework of your server"
        w={240}
        maw="100%"
        data={[
          { group: 'Node', items: servers.map(({ name }) => name) },
          ...(['Other languages', 'In front of any API', 'By HTTP'] as const).map(kind => ({
            group: kind,
            items: namesOf(kind),
          })),
        ]}
        value={framework}
        onChange={event => onFramework(event.currentTarget.value)}
      />
      <ol className={classes.steps}>
        {steps.map(({ text, label, name, code }) => (
          <li key={label}>
            <p className={classes.text}>{text}</p>
            <div className={classes.code}>
              <CodeBlock isWrapped={hasSecret(code, values)} label={label} samples={[{ name, code }]} />
            </div>
          </li>
        ))}
      </ol>
    </>
  )
}

/** A secret whose end is cut off looks as if it were whole. */
const hasSecret = (code: string, { secret }: SampleValues) => secret !== '' && code.includes(secret)

const stepsOf = (
  { install, file, code, start }: ServerSample,
  values: SampleValues,
): readonly SampleStep[] => {
  const [settings] = environmentSamples(values)
  return [
    {
      text: 'Make a folder and install what the server needs, with Node 20.6 or later.',
      label: 'To install',
      name: 'Terminal',
      code: install,
    },
    {
      text: 'Save the secret key in that folder, in a file with the name .env.',
      label: 'For the environment of your server',
      name: settings.name,
      code: settings.code,
    },
    {
      text: `Save the code in that folder, in a file with the name ${file}.`,
      label: 'The code of your server',
      name: file,
      code,
    },
    { text: 'Start the server in that folder.', label: 'To start', name: 'Terminal', code: start },
  ]
}
