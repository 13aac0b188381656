// Applies the stored theme and density before the first paint, so that no other theme flashes up. It is a script of its own: a
// module runs only after the page has been parsed, and the content security policy forbids inline scripts.
for (const name of ["theme", "density"]) {
  const value = localStorage.getItem(`gatehouse.${name}`);
  if (value !== null) document.documentElement.dataset[name] = value;
}
