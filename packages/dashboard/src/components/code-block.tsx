import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import classes from './code-block.module.css'
import { CopyIconButton } from './copy-button.tsx'

interface Sample {
  /** The language or the framework. */
  readonly name: string
  readonly code: string
}

interface CodeBlockProps {
  /** What the code does, for those who do not see it. */
  readonly label: string
  readonly samples: readonly [Sample, ...Sample[]]
  /** Long lines go on below, as those with a whole key: what is cut off looks as if it were not there. */
  readonly isWrapped?: boolean
}

/** Code to copy, in one or several languages. */
export function CodeBlock({ label, samples, isWrapped = false }: CodeBlockProps) {
  const [name, setName] = useState(samples[0].name)
  const { code } = samples.find(one => one.name === name) ?? samples[0]
  return (
    <figure className={classes.block} aria-label={label}>
      <div className={classes.bar}>
        {samples.length === 1 ? (
          <span className={classes.name}>{samples[0].name}</span>
        ) : (
          <SegmentedControl
            size="xs"
            data={samples.map(one => one.name)}
            value={name}
            onChange={setName}
            aria-label="Language"
          />
        )}
        <CopyIconButton text={code} label="Copy the code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long lines. */}
      <pre className={isWrapped ? `${classes.code} ${classes.wrapped}` : classes.code} tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  )
}
