import { type SampleTarget, tokenPath } from './server-samples.ts'

const getToken = `async function getToken() {
  const answer = await fetch('${tokenPath}', { method: 'POST' })
  if (!answer.ok) throw answer
  return (await answer.json()).token
}`

/** The newest version of the widget that the service serves. */
export interface WidgetVersion {
  /** Its path. */
  readonly src: string
  readonly integrity: string
}

/**
 * Shows the widget, in the browser of the customer.
 *
 * @param version null until the service has built the widget: no tag can name its integrity.
 */
export const pageSamples = (
  { url }: Pick<SampleTarget, 'url'>,
  version: WidgetVersion | null,
): readonly [Sample, ...Sample[]] => [
  ...htmlSamples(url, version),
  {
    name: 'React',
    code: `'use client' // for Next

import { KeyrailKeys } from '@keyrail/embed/react'

${getToken}

export const ApiKeys = () => <KeyrailKeys baseUrl="${url}" getToken={getToken} />`,
  },
  {
    name: 'Vue',
    code: `<script setup>
import '@keyrail/embed'

${getToken}
</script>

<!-- In vite.config.js: vue({ template: { compilerOptions: { isCustomElement: tag => tag === 'keyrail-keys' } } }) -->
<template>
  <keyrail-keys base-url="${url}" :getToken.prop="getToken" />
</template>`,
  },
  {
    name: 'Svelte',
    code: `<script>
  import '@keyrail/embed'

${indented(getToken)}
</script>

<keyrail-keys base-url="${url}" {getToken}></keyrail-keys>`,
  },
  {
    name: 'Your own',
    code: `import { createEmbedClient } from '@keyrail/embed'

${getToken}

// It renews the token by itself. A call that fails throws an error with a code.
const client = createEmbedClient({ baseUrl: '${url}', getToken })

const { can } = await client.session() // what the token may do
const { data: keys } = await client.list({ limit: 100 })

const created = await client.create({ name: 'Build server' })
// Show created.key now: no later answer has it.
await client.update(created.id, { name: 'Build server in Oslo' })
const successor = await client.rotate(created.id, { overlap_hours: 24 })
await client.revoke(successor.id)`,
  },
]

interface Sample {
  readonly name: string
  readonly code: string
}

const pinned = (url: string, { src, integrity }: WidgetVersion) =>
  `<!-- One version. After an upgrade of the service, copy the new tag from here within a week. -->
<script type="module" crossorigin
  src="${url}${src}"
  integrity="${integrity}"></script>`

function htmlSamples(url: string, version: WidgetVersion | null): [Sample, ...Sample[]] {
  const newest = htmlOf(`<script type="module" src="${url}/embed/v1/keyrail-keys.js"></script>`)
  return version === null
    ? [{ name: 'HTML', code: newest }]
    : [
        { name: 'HTML', code: htmlOf(pinned(url, version)) },
        { name: 'HTML, always newest', code: newest },
      ]
}

const htmlOf = (tag: string) => `<keyrail-keys></keyrail-keys>
${tag}
<script type="module">
${indented(getToken)}

  document.querySelector('keyrail-keys').getToken = getToken
</script>`

const indented = (code: string) => code.replaceAll(/^(?=.)/gm, '  ')
