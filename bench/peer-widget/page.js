import { ApiKeys } from '@workos-inc/widgets/api-keys'
import { WorkOsWidgets } from '@workos-inc/widgets/workos-widgets'
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import '@radix-ui/themes/styles.css'
import '@workos-inc/widgets/styles.css'

/** Draws the keys that the server of the page answers. */
export function draw(into, authToken) {
  const { hostname, port } = location
  const keys = createElement(ApiKeys, { authToken })
  createRoot(into).render(createElement(WorkOsWidgets, { apiHostname: hostname, port, https: false }, keys))
}
