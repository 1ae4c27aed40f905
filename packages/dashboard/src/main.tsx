import './link-token.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { keepFocus } from './components/keep-focus.ts'
import { findToken } from './session/token.ts'
import { surviveTranslation } from './translated-page.ts'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element with the id root')
keepFocus()
surviveTranslation()
// The code of a first visit is here already. Its names are fetched beside the question of who is signed in, not after it.
for (const part of [import('./shell/shell.tsx'), import('./screens/overview/overview.tsx')])
  part.catch(() => {})
await findToken()
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
