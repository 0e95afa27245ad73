// TensorBoard loads this file and calls `render` once, in an empty frame.

export async function render(): Promise<void> {
  document.documentElement.lang = "en";
  document.title = "Grad Graph";
  document.body.style.margin = "0";
  const place = document.createElement("div");
  place.style.height = "100vh";
  document.body.append(place);
  try {
    const { mount } = await import("./panel/mount");
    mount(place);
  } catch (error) {
    place.textContent = `Grad Graph could not be opened in this browser: ${String(error)}`;
    throw error;
  }
}
