// Downloads a file to the user's computer.

export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // By then the browser has started the download.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// If there is no clipboard API, for example on an insecure page, the text is copied by a selection.
export async function copyText(text: string, field: HTMLInputElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    field?.select();
    return document.execCommand("copy");
  }
}
