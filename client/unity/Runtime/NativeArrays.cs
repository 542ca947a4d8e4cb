#if UNITY_5_3_OR_NEWER
using System;
using Unity.Collections;
using Unity.Collections.LowLevel.Unsafe;

namespace Worldd
{
    /// <summary>Bulk reads into Unity's native arrays, for jobs and meshes.</summary>
    public static class NativeArrays
    {
        /// <summary>Writes the handles of the entities in view, and returns their number, which may be more than the array holds.</summary>
        public static int Entities(this Client c, NativeArray<ulong> handles) { return c.Entities(Address(handles), handles.Length); }

        public static void Lookup(this Client c, NativeArray<ulong> handles, int n, NativeArray<Verdict> verdicts)
        {
            Hold(n, 1, handles.Length, verdicts.Length);
            c.Lookup(Address(handles), n, Address(verdicts));
        }

        /// <summary>Reads one field of n entities, with as many elements for each as the field has.</summary>
        public static void Read(this Client c, uint component, uint field, When when, NativeArray<ulong> handles, int n, NativeArray<float> to, NativeArray<Verdict> verdicts)
        {
            Hold(n, 1, handles.Length, verdicts.Length);
            Hold(n, c.CountOf(component, field), handles.Length, to.Length);
            c.ReadF32(component, field, when, Address(handles), n, Address(to), Address(verdicts));
        }

        /// <summary>Reads a component of n entities as structs that `schema --lang cs` has written.</summary>
        public static void Read<T>(this Client c, uint component, When when, NativeArray<ulong> handles, int n, NativeArray<T> to, NativeArray<Verdict> verdicts) where T : struct
        {
            Hold(n, 1, handles.Length, verdicts.Length);
            Hold(n, 1, handles.Length, to.Length);
            c.ReadRecords(component, when, Address(handles), n, Address(to), UnsafeUtility.SizeOf<T>(), Address(verdicts));
        }

        static void Hold(int n, int count, int handles, int room)
        {
            if (n < 0 || n > handles || n * (long)count > room)
                throw new ArgumentException("n is " + n + ", for " + handles + " handles and room for " + room + " elements, " + count + " each");
        }

        static unsafe IntPtr Address<T>(NativeArray<T> of) where T : struct { return (IntPtr)NativeArrayUnsafeUtility.GetUnsafePtr(of); }
    }
}
#endif
