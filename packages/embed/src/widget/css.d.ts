declare module '*.css?inline' {
  const css: string
  // biome-ignore lint/style/noDefaultExport: the form in which Vite gives a style.
  export default css
}
