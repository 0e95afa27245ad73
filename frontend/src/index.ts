// TensorBoard loads this file and calls `render` once, in an empty frame.

export async function render(): Promise<void> {
  const { mount } = await import("./panel/mount");
  document.body.style.margin = "0";
  const place = document.createElement("div");
  place.style.height = "100vh";
  document.body.append(place);
  mount(place);
}
