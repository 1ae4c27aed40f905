import { setServedFrom } from './widget/keyrail-keys.ts'

export { createEmbedClient, EmbedError, KeyrailKeys } from './index.ts'

// Two folders above `/embed/v1/keyrail-keys.js`.
setServedFrom(new URL(/* @vite-ignore */ '../..', import.meta.url).href)
