import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import './theme/global.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { makeQueryClient } from './api/queries.ts'
import { makeRouter } from './router.tsx'
import { SignInAgain } from './session/sign-in-again.tsx'
import { WorkspaceChanged } from './session/workspace-changed.tsx'
import { styleNonce } from './style-nonce.ts'
import { theme } from './theme/theme.ts'

const client = makeQueryClient()
const router = makeRouter(client)

export function App() {
  return (
    <MantineProvider theme={theme} getStyleNonce={styleNonce} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <Notifications position="bottom-right" />
        <RouterProvider router={router} />
        <WorkspaceChanged />
        <SignInAgain />
      </QueryClientProvider>
    </MantineProvider>
  )
}
