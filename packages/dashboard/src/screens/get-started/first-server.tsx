import { NativeSelect } from '@mantine/core'
import type { ReactNode } from 'react'
import { CodeBlock } from '../../components/code-block.tsx'
import classes from './first-server.module.css'
import { curlOf, environmentSamples, type SampleValues, serverSamples } from './snippets.ts'

/** Without a server: what each server does first, by hand. */
const byHand = 'curl'

interface FirstServerProps {
  readonly values: SampleValues
  /** The name of the chosen framework. */
  readonly framework: string
  readonly onFramework: (name: string) => void
}

/** From an empty folder to a server that verifies keys. Everything is there to copy. */
export function FirstServer({ values, framework, onFramework }: FirstServerProps) {
  const samples = serverSamples(values)
  const { install, file, code, start } = samples.find(({ name }) => name === framework) ?? samples[0]
  return (
    <>
      <NativeSelect
        label="Framework of your server"
        w={240}
        maw="100%"
        data={[...samples.map(({ name }) => name), byHand]}
        value={framework}
        onChange={event => onFramework(event.currentTarget.value)}
      />
      {framework === byHand ? (
        <ol className={classes.steps}>
          <Step text="Ask for the keys of the project once, in a terminal, as a server does.">
            <CodeBlock
              isWrapped
              label="The request of a server"
              samples={[{ name: 'Terminal', code: curlOf(values) }]}
            />
          </Step>
        </ol>
      ) : (
        <ol className={classes.steps}>
          <Step text="Make a folder and install what the server needs, with Node 20.6 or later. Until @keyrail/sdk is published, install the file that npm pack makes of it in a checkout of Keyrail.">
            <CodeBlock label="To install" samples={[{ name: 'Terminal', code: install }]} />
          </Step>
          <Step text="Save the secret key in that folder, in a file with the name .env.">
            <CodeBlock
              isWrapped
              label="For the environment of your server"
              samples={environmentSamples(values)}
            />
          </Step>
          <Step text={`Save the code in that folder, in a file with the name ${file}.`}>
            <CodeBlock label="The code of your server" samples={[{ name: file, code }]} />
          </Step>
          <Step text="Start the server in that folder.">
            <CodeBlock label="To start" samples={[{ name: 'Terminal', code: start }]} />
          </Step>
        </ol>
      )}
    </>
  )
}

const Step = ({ text, children }: { readonly text: string; readonly children: ReactNode }) => (
  <li>
    <p className={classes.text}>{text}</p>
    <div className={classes.code}>{children}</div>
  </li>
)
