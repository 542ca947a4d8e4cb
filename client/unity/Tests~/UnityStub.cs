// A stand-in for the few names of Unity that the package uses, so that its native arrays compile in tests without Unity.
namespace Unity.Collections
{
    public struct NativeArray<T> where T : struct
    {
        public int Length { get { return 0; } }
    }
}

namespace Unity.Collections.LowLevel.Unsafe
{
    public static class NativeArrayUnsafeUtility
    {
        public static unsafe void* GetUnsafePtr<T>(NativeArray<T> of) where T : struct { return null; }
    }

    public static class UnsafeUtility
    {
        public static int SizeOf<T>() where T : struct { return 0; }
    }
}
